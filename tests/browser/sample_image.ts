import { crc32, deflateSync } from "node:zlib";
import { Buffer } from "node:buffer";

/** A picture of some colours with noise in it, so that it is about as many bytes as pixels × 3. */
export function samplePng(side: number): Uint8Array {
  const rows = new Uint8Array(side * (1 + side * 3));
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const at = y * (1 + side * 3) + 1 + x * 3;
      const noise = (x * 7919 + y * 104_729) % 31;
      rows[at] = 40 + Math.floor(180 * x / side) + noise;
      rows[at + 1] = 60 + Math.floor(120 * y / side) + noise;
      rows[at + 2] = 160 + noise;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  const parts = [
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(rows, { level: 0 })),
    chunk("IEND", Buffer.alloc(0)),
  ];
  return new Uint8Array(Buffer.concat(parts));
}

function chunk(type: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}
