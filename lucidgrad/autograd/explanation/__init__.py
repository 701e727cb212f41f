"""Why a gradient is what it is: `explain`, its causes, where values came from, and what the tape did not see."""
