# A type of the list becomes a link with the first sentence of its docstring.
s/^- ([a-z0-9_]+)$/- @ref elastic::\1 "\1": @copybrief elastic::\1/
# Pages that are not part of the reference are named, not linked.
/stability\.md/!s/\[([^]]*)\]\([A-Za-z_./]*(#[^)]*)?\)/\1/g
