/**
 * An event that holds nothing but a comment: readers of server-sent events pass it over. The blank
 * line keeps it apart from the next event, whose first line some clients look at.
 */
export const sseComment = ": keep-alive\n\n";
