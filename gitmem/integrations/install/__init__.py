"""Install gitmem into agent hosts and uninstall it: a plan of file edits with a record, so that
every file can be restored byte for byte. `parts/` has one module for each kind of part."""
