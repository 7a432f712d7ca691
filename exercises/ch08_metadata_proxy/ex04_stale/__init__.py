"""Exercise 08-4: find and mend a proxy that answers with stale coordinators."""
