"""Facts that rules copy along a hierarchy, and which copies other rules read."""
