/** The same path for every model. */
export function upstreamPath(): string {
  return "/chat/completions";
}
