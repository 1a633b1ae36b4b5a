/**
 * An event with a comment only, which readers of server-sent events ignore. The blank line
 * separates it from the next event, whose first line some clients look at.
 */
export const sseComment = ": keep-alive\n\n";
