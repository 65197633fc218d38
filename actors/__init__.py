"""The runtime: one actor per configured instance, and what asks them."""
