"""Pictures of mappings, which show the load of each core and of each link."""
