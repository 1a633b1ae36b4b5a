import assert from "@std/assert";

/** What media programs say about an image; the gate installs these programs if it may. */
export interface PictureReport {
  /** The output of `file`, such as `PNG …`. */
  kind: string;
  /** The format by imagemagick's `identify`, such as `PNG`. */
  format: string;
  width: number;
  height: number;
}

export interface SoundReport {
  /** The output of `file`. */
  kind: string;
  codec: string;
  sampleRate: number;
  channels: number;
  seconds: number;
}

/** Whether `file`, `identify`, `ffprobe` and `ffmpeg` are installed. */
export function mediaToolsAreThere(): boolean {
  return ["file", "identify", "ffprobe", "ffmpeg"].every((program) => {
    try {
      return Deno.statSync(`/usr/bin/${program}`).isFile;
    } catch {
      return false;
    }
  });
}

/** Opens an image with two programs; the second one decodes all of it. */
export async function openPicture(bytes: Uint8Array): Promise<PictureReport> {
  return await inFile(bytes, async (path) => {
    const kind = await run("file", ["--brief", path]);
    const said = await run("identify", ["-regard-warnings", "-format", "%m %w %h", path]);
    const [format = "", width, height] = said.split(" ");
    return { kind, format, width: Number(width), height: Number(height) };
  });
}

/** Opens a sound with two programs and decodes all of it. */
export async function openSound(bytes: Uint8Array): Promise<SoundReport> {
  return await inFile(bytes, async (path) => {
    const kind = await run("file", ["--brief", path]);
    const text = await run("ffprobe", [
      ...["-v", "error", "-of", "json", "-show_entries"],
      "stream=codec_name,sample_rate,channels:format=duration",
      path,
    ]);
    const { streams: [stream], format } = JSON.parse(text);
    const decoded = await run("ffmpeg", ["-v", "error", "-i", path, "-f", "null", "-"]);
    assert.equal(decoded, "", "the whole file can be decoded");
    return {
      kind,
      codec: stream.codec_name,
      sampleRate: Number(stream.sample_rate),
      channels: stream.channels,
      seconds: Number(format.duration),
    };
  });
}

async function inFile<T>(bytes: Uint8Array, open: (path: string) => Promise<T>): Promise<T> {
  const path = await Deno.makeTempFile({ prefix: "gateway-media-" });
  try {
    await Deno.writeFile(path, bytes);
    return await open(path);
  } finally {
    await Deno.remove(path);
  }
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const command = new Deno.Command(`/usr/bin/${program}`, { args: [...args] });
  const { success, stdout, stderr } = await command.output();
  const said = new TextDecoder().decode(stderr).trim();
  assert(success, `${program}: ${said}`);
  assert.equal(said, "", program);
  return new TextDecoder().decode(stdout).trim();
}
