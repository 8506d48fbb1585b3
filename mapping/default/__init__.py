"""The method that beats spec 4: graph and mesh are cut together, and refined on hops themselves."""
