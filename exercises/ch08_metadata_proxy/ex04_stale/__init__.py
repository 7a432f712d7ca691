"""Exercise 08-4: find and fix a proxy that answers with stale coordinators."""
