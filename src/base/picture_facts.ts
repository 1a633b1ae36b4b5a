/** Type and size of an image, from its header; sizes in pixels. */
export interface PictureFacts {
  mimeType: "image/png" | "image/jpeg" | "image/webp" | "image/gif";
  width: number;
  height: number;
}

/** Reads the header of a PNG, JPEG, WebP or GIF; undefined for other bytes. */
export function pictureFacts(bytes: Uint8Array): PictureFacts | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return png(view) ?? jpeg(view) ?? webp(view) ?? gif(view);
  } catch (thrown) {
    // The header ends too early.
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

function png(view: DataView): PictureFacts | undefined {
  if (view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a) return undefined;
  return { mimeType: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
}

/** The size is in the first frame header, after segments of any length. */
function jpeg(view: DataView): PictureFacts | undefined {
  if (view.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) {
      const [height, width] = [view.getUint16(at + 5), view.getUint16(at + 7)];
      return { mimeType: "image/jpeg", width, height };
    }
    at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}

function webp(view: DataView): PictureFacts | undefined {
  if (view.getUint32(0) !== 0x52494646 || view.getUint32(8) !== 0x57454250) return undefined;
  const mimeType = "image/webp";
  switch (view.getUint32(12)) {
    // VP8X: width and height of the canvas, minus one, in 24 bits each.
    case 0x56503858:
      return { mimeType, width: 1 + low24(view, 24), height: 1 + low24(view, 27) };
    // VP8L: width and height, minus one, in 14 bits each.
    case 0x5650384c: {
      const bits = view.getUint32(21, true);
      return { mimeType, width: 1 + (bits & 0x3fff), height: 1 + (bits >>> 14 & 0x3fff) };
    }
    // VP8: 14 bits each; the upper two bits are the scale.
    case 0x56503820:
      return {
        mimeType,
        width: view.getUint16(26, true) & 0x3fff,
        height: view.getUint16(28, true) & 0x3fff,
      };
    default:
      return undefined;
  }
}

function gif(view: DataView): PictureFacts | undefined {
  if (view.getUint32(0) !== 0x47494638) return undefined;
  return {
    mimeType: "image/gif",
    width: view.getUint16(6, true),
    height: view.getUint16(8, true),
  };
}

function low24(view: DataView, at: number): number {
  return view.getUint16(at, true) | view.getUint8(at + 2) << 16;
}
