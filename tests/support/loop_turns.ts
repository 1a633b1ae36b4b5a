/**
 * Lets this process's event loop turn so often that the service in it has read what a vendor in it
 * wrote. Turns, unlike time, don't pass while the machine keeps the process waiting.
 */
export async function loopTurns(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await new Promise((resolve) => setTimeout(resolve, 2));
}
