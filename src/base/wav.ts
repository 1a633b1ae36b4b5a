// Our own: 44 bytes of header, for audio that is streamed before its length is known.

/** Raw samples: 16-bit integers, little-endian. */
export interface PcmFormat {
  /** Samples per second. */
  sampleRate: number;
  channels: number;
}

const bytesPerSample = 2;
/** Unknown length; players then read to the end. */
const endless = 0xffff_ffff;

/**
 * The header for `bytes` bytes of samples. Undefined: a stream of unknown length, with 0xFFFFFFFF in
 * both size fields.
 */
export function wavHeader(format: PcmFormat, bytes: number | undefined): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(44);
  const view = new DataView(header.buffer);
  const text = (at: number, word: string) => header.set(new TextEncoder().encode(word), at);
  const frameBytes = format.channels * bytesPerSample;
  text(0, "RIFF");
  view.setUint32(4, bytes === undefined ? endless : 36 + bytes, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, format.channels, true);
  view.setUint32(24, format.sampleRate, true);
  view.setUint32(28, format.sampleRate * frameBytes, true);
  view.setUint16(32, frameBytes, true);
  view.setUint16(34, 8 * bytesPerSample, true);
  text(36, "data");
  view.setUint32(40, bytes ?? endless, true);
  return header;
}

/** The format in a type such as `audio/L16;codec=pcm;rate=24000`; `otherwise` fills absent fields. */
export function pcmFormatOf(mimeType: string, otherwise: PcmFormat): PcmFormat {
  const number = (name: string) => {
    const found = new RegExp(`(?:^|;)\\s*${name}=(\\d{1,6})\\b`, "i").exec(mimeType)?.[1];
    return found === undefined || Number(found) === 0 ? undefined : Number(found);
  };
  return {
    sampleRate: number("rate") ?? otherwise.sampleRate,
    channels: number("channels") ?? otherwise.channels,
  };
}
