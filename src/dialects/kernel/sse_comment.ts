/** A comment, which readers ignore; some clients look at the first line of what follows. */
export const sseComment = ": keep-alive\n\n";
