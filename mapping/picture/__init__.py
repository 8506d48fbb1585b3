"""Pictures of mappings: load of each core and of each link."""
