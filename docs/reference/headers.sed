# "Errors: …" at the start of a line begins a paragraph under that heading: see ALIASES of Doxyfile.
s/^( *\/\/\/) (Result|Errors|Cancellation|Thread-safety): /\1 @labelled{\2} /
