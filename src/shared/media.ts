/** Media taken out of a payload, which names it by its hash. */
export interface Media {
  /** Of `content`, 64 lower-case hex digits. */
  sha256: string;
  /** As the caller or the vendor said, else as the first bytes tell; lower case. */
  mimeType: string;
  content: Uint8Array;
}

/** Media as an account sees it. */
export interface MediaFacts {
  bytes: number;
  /** What the account's own payload said of it, which may be anything. */
  mimeType: string;
}

/** Where stored media is read; it is written and erased with the payloads that name it. */
export interface MediaStore {
  /** Undefined unless a payload of the account names it. */
  find(accountId: number, sha256: string): Promise<MediaFacts | undefined>;
  /** At most `length` bytes from `from` on; empty beyond the end, and when it is gone by now. */
  read(sha256: string, from: number, length: number): Promise<Uint8Array>;
}

/** Path that a payload gives for its media, below the service's address. */
export function mediaPath(sha256: string): string {
  return `/api/v1/media/${sha256}`;
}
