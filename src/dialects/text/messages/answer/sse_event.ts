/**
 * One event with its `event:` line: the vendor's own client ignores events without it
 * (messages.md §5).
 */
export function sseEvent(data: { type: string; [key: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
