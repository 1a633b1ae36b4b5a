/** Media that was taken out of a payload, which references it by its hash. */
export interface Media {
  /** Of `content`, 64 lower-case hex digits. */
  sha256: string;
  /** As declared by caller or vendor, else by the first bytes; lower case. */
  mimeType: string;
  content: Uint8Array;
}

/** Returns the bytes of all the media together. */
export function mediaBytes(media: readonly Media[] = []): number {
  return media.reduce((sum, { content }) => sum + content.length, 0);
}

/** Media as an account sees it. */
export interface MediaFacts {
  bytes: number;
  /** As declared in the account's own payload; untrusted. */
  mimeType: string;
}

/** Reads stored media, which is written and erased with the payloads that reference it. */
export interface MediaStore {
  /** Undefined unless a payload of the account references it. */
  find(accountId: number, sha256: string): Promise<MediaFacts | undefined>;
  /** At most `length` bytes from `from` on; empty beyond the end, or if the media is gone. */
  read(sha256: string, from: number, length: number): Promise<Uint8Array>;
}

/** The path of media in payloads, below the service's address. */
export function mediaPath(sha256: string): string {
  return `/api/v1/media/${sha256}`;
}
