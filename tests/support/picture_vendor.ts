import { Buffer } from "node:buffer";

/** A vendor that answers every request with a different image. */
export interface PictureVendor extends AsyncDisposable {
  /** The base URL, with its version segment. */
  readonly url: string;
  /** Size of each image in bytes. */
  readonly bytes: number;
}

/**
 * Starts a vendor whose images have so many bytes. Making them takes it next to no time, so that a
 * test with many images measures the service.
 */
export function startPictureVendor(bytes: number): PictureVendor {
  const template = onePicture(bytes).toString("base64");
  const [before, after] = ['{"created":1789000000,"data":[{"b64_json":"', `"}],"usage":${usage}}`];
  let count = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      // Reads the request to its end, as a vendor does.
      for await (const _piece of request.body ?? []);
      const own = numbered(template, count++);
      return new Response(before + own + after, {
        headers: { "content-type": "application/json" },
      });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    bytes,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Makes bytes that begin like a PNG image, followed by random noise. */
export function onePicture(bytes: number): Buffer {
  const picture = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 65_536) {
    crypto.getRandomValues(picture.subarray(at, Math.min(bytes, at + 65_536)));
  }
  picture.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return picture;
}

/** Puts a number into the base64, which makes it a different image. */
function numbered(base64: string, number: number): string {
  const digits = number.toString(10).padStart(8, "0");
  return base64.slice(0, 64) + digits + base64.slice(64 + digits.length);
}

const usage = JSON.stringify({
  input_tokens: 10,
  input_tokens_details: { text_tokens: 10, image_tokens: 0 },
  output_tokens: 272,
  total_tokens: 282,
});
