import { joinBytes } from "../../base/bytes.ts";

/** A vendor that leaves it out of this many pieces with chunks writes it into none. */
const triedPieces = 8;

/**
 * Returns a function that is called with one stream's events in order, and removes `"usage":null`
 * from them. It stops looking if the vendor writes none, so that such streams cost nothing.
 */
export function nullUsageRemover(): (events: Uint8Array) => Uint8Array {
  let triesLeft = triedPieces;
  return (events) => {
    // Vendors send comments, without a brace, for as long as a call waits.
    if (triesLeft === 0 || !events.includes(brace)) return events;
    const without = withoutNullUsage(events);
    triesLeft = without === events ? triesLeft - 1 : Infinity;
    return without;
  };
}

/**
 * Removes `"usage":null` from events of a chat stream. Vendors write it into each chunk before the
 * last once usage is requested, and clients that did not request it need not understand it. Inside
 * a JSON string the quotation marks would be escaped, so only members match. Bytes are compared,
 * since most events are small, and their decoding would cost more than the rest.
 */
function withoutNullUsage(events: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = [];
  let done = 0;
  for (let u = events.indexOf(key[1]!); u >= 0; u = events.indexOf(key[1]!, u + 1)) {
    if (!hasAt(events, u - 1, key)) continue;
    const before = events[u - 2] === space ? u - 3 : u - 2;
    const after = u - 1 + key.length;
    const value = events[after + 1] === space ? after + 2 : after + 1;
    if (events[before] !== comma || events[after] !== colon || !hasAt(events, value, none)) {
      continue;
    }
    pieces.push(events.subarray(done, before));
    done = value + none.length;
  }
  return pieces.length === 0 ? events : joinBytes([...pieces, events.subarray(done)]);
}

const key = new TextEncoder().encode('"usage"');
const none = new TextEncoder().encode("null");
const [space, comma, colon, brace] = [0x20, 0x2c, 0x3a, 0x7b];

function hasAt(bytes: Uint8Array, at: number, part: Uint8Array): boolean {
  for (let index = 0; index < part.length; index++) {
    if (bytes[at + index] !== part[index]) return false;
  }
  return true;
}
