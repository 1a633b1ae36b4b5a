/** Members whose objects are arguments and results of the caller's functions. */
export const callMembers: ReadonlySet<string> = new Set([
  "args",
  "partialArgs",
  "response",
]);
