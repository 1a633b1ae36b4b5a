/** A new id for `X-Request-ID`; `crypto.randomUUID` is missing on pages that came over plain http. */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
