"""The commands, in folders by what people do; `gitmem.cli.app` knows the module of each."""
