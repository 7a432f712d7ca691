"""One simulated run that people watch: paced, paused, stepped, rewound and forked."""
