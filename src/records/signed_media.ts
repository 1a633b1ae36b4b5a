import { timingSafeEqual } from "node:crypto";
import { mediaPath } from "../shared/media.ts";

const signedSeconds = 60 * 60;

/** Creates and checks media addresses that need no API key. */
export interface MediaSigner {
  /** Path with `?expires=…&signature=…`, valid for an hour. */
  sign(accountId: number, sha256: string): string;
  /** The account that the address was signed for; undefined if it is invalid or expired. */
  check(sha256: string, expires: string, signature: string): number | undefined;
}

/**
 * `mac` signs a text with a key that all processes share (`MasterKey.signAddress`). The signature
 * begins with the account's id, since the type of the media comes from that account's payload.
 */
export function createMediaSigner(
  deps: { mac: (text: string) => string; now: () => Date },
): MediaSigner {
  const nowSeconds = () => Math.floor(deps.now().getTime() / 1000);
  const signature = (accountId: number, sha256: string, expires: number) =>
    `${accountId}.${deps.mac(JSON.stringify(["media", 1, accountId, sha256, expires]))}`;
  return {
    sign(accountId, sha256) {
      const expires = nowSeconds() + signedSeconds;
      return `${mediaPath(sha256)}?expires=${expires}&signature=${
        signature(accountId, sha256, expires)
      }`;
    },
    check(sha256, expires, presented) {
      const account = /^(\d{1,15})\./.exec(presented)?.[1];
      if (account === undefined || !/^\d{1,12}$/.test(expires)) return undefined;
      if (Number(expires) < nowSeconds()) return undefined;
      const expected = signature(Number(account), sha256, Number(expires));
      return isSame(presented, expected) ? Number(account) : undefined;
    },
  };
}

function isSame(presented: string, expected: string): boolean {
  const [a, b] = [new TextEncoder().encode(presented), new TextEncoder().encode(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
