/**
 * The code of an error of the operating system, such as `ENOSPC`; undefined for any other error.
 * Anything else that an error says, like its message, may quote content.
 */
export function systemCodeOf(thrown: unknown): string | undefined {
  const code = (thrown as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && /^E[A-Z0-9]{2,20}$/.test(code) ? code : undefined;
}
