/** Something that takes a file descriptor, such as an open file. */
export interface Descriptor {
  close(): void;
}

/**
 * Returns how many more file descriptors this process may have, up to `atMost`. Opens that many to
 * find out, since a process may not read its limit.
 */
export function freeDescriptors(open: () => Descriptor, atMost: number): number {
  const opened: Descriptor[] = [];
  try {
    while (opened.length < atMost) opened.push(open());
  } catch {
    // No more are free.
  } finally {
    for (const one of opened) one.close();
  }
  return opened.length;
}
