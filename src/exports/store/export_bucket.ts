import { Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { createHttpsAgent } from "../../base/https_agent.ts";
import type { Secret } from "../../base/secret.ts";
import { Fault, messageOf } from "../../shared/fault.ts";
import { type ExportBucket, exportFileMissing, type ExportFileName } from "../export_job.ts";
import { exportMediaType } from "../export_spec.ts";

/** The bucket's location and credentials. */
export interface BucketSettings {
  bucket: string;
  prefix: string;
  /** Of a store other than Amazon's; its bucket is then addressed by path, not by host name. */
  endpoint: string | undefined;
  region: string;
  accessKeyId: Secret;
  secretAccessKey: Secret;
}

/**
 * Returns the size of an upload's parts. A file has at most 10,000 of them, so up to 50 GB fit at
 * the first attempt and 200 GB at later ones. Three parts are in memory: two being sent, one being
 * filled.
 */
function partBytes(claim: number): number {
  return (claim === 1 ? 5 : 20) * 1024 * 1024;
}
const partsAtOnce = 2;
/**
 * How long a store may take to answer, and how long it may be silent within an answer: a store that
 * hangs must block neither a job nor a download forever.
 */
const longestWaitMs = 120_000;
/** The client's defaults, which passing an agent would otherwise replace. */
const connections = { keepAlive: true, maxSockets: 50 };
/** The longest validity of a signature. */
const maxAddressSeconds = 7 * 24 * 60 * 60;

/** Builds the storage in an S3 bucket; the client library is loaded when it is first needed. */
export function createExportBucket(
  settings: BucketSettings,
  now: () => Date,
  waitMs = longestWaitMs,
): ExportBucket {
  const { bucket: Bucket } = settings;
  let opened: ReturnType<typeof open> | undefined;
  const library = () => opened ??= open(settings, waitMs);
  const keyOf = ({ requestId, claim, format }: ExportFileName) =>
    `${settings.prefix === "" ? "" : `${settings.prefix}/`}${requestId}/${claim}.${format}`;
  return {
    async save(file, bytes) {
      const { client, Upload } = await library();
      const counted = new Counted(bytes);
      const body = Readable.from(counted);
      const upload = new Upload({
        client,
        params: {
          Bucket,
          Key: keyOf(file),
          Body: body,
          ContentType: exportMediaType(file.format),
          ContentDisposition: `attachment; filename="export-${file.requestId}.${file.format}"`,
        },
        partSize: partBytes(file.claim),
        queueSize: partsAtOnce,
      });
      try {
        await upload.done();
      } catch (thrown) {
        body.destroy();
        // If reading the export failed, the upload's own error is only a consequence.
        if (counted.failed) throw counted.failed.thrown;
        throw new Error(`the bucket did not take the file: ${messageOf(thrown)}`);
      }
      return counted.length;
    },
    async *read(file, start, end) {
      if (end <= start) return;
      const { reader, s3 } = await library();
      const { Body } = await reader.send(
        new s3.GetObjectCommand({ Bucket, Key: keyOf(file), Range: `bytes=${start}-${end - 1}` }),
      ).catch((thrown) => {
        throw thrown instanceof s3.NoSuchKey
          ? exportFileMissing(file.requestId)
          : unreadable(file.requestId, thrown);
      });
      yield* unlessSilent(Body as Readable, waitMs);
    },
    async remove(file, which) {
      const { client, s3 } = await library();
      for (let claim = which === "this" ? file.claim : 1; claim <= file.claim; claim++) {
        const Key = keyOf({ ...file, claim });
        try {
          await client.send(new s3.DeleteObjectCommand({ Bucket, Key }));
          await abortUploads(client, s3, Bucket, Key);
        } catch (thrown) {
          throw new Error(`the bucket did not remove the file: ${messageOf(thrown)}`);
        }
      }
    },
    async address(file, until) {
      const { client, s3, getSignedUrl } = await library();
      const seconds = Math.floor((until.getTime() - now().getTime()) / 1000);
      return await getSignedUrl(client, new s3.GetObjectCommand({ Bucket, Key: keyOf(file) }), {
        expiresIn: Math.max(1, Math.min(seconds, maxAddressSeconds)),
      });
    },
  };
}

async function open(settings: BucketSettings, waitMs: number) {
  const [s3, { Upload }, { getSignedUrl }] = await Promise.all([
    import("@aws-sdk/client-s3"),
    import("@aws-sdk/lib-storage"),
    import("@aws-sdk/s3-request-presigner"),
  ]);
  const clientWith = (limits: { socketTimeout?: number }) =>
    new s3.S3Client({
      region: settings.region,
      ...(settings.endpoint === undefined
        ? {}
        : { endpoint: settings.endpoint, forcePathStyle: true }),
      credentials: {
        accessKeyId: settings.accessKeyId.reveal(),
        secretAccessKey: settings.secretAccessKey.reveal(),
      },
      requestHandler: {
        ...{ connectionTimeout: 5_000, requestTimeout: waitMs, throwOnRequestTimeout: true },
        ...{ ...limits, httpsAgent: createHttpsAgent(connections) },
      },
      // Stores other than Amazon's don't know the checksums that the client adds by default.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
    });
  return {
    ...{ s3, Upload, getSignedUrl },
    client: clientWith({ socketTimeout: waitMs }),
    // Reads files: to `socketTimeout`, a caller that takes its time looks like a silent store.
    reader: clientWith({}),
  };
}

/** The bucket is away, or refuses: that is as temporary, for the caller, as a database that is away. */
function unreadable(requestId: string, thrown: unknown): Fault {
  return new Fault("store_unavailable", {
    message: `The file of the export '${requestId}' can't be read now. Retry later.`,
    note: `the bucket did not give the file: ${messageOf(thrown)}`,
  });
}

/** Yields a file's pieces; fails if the store lets us wait for one for longer than `waitMs`. */
async function* unlessSilent(body: Readable, waitMs: number): AsyncGenerator<Uint8Array> {
  const limit = () =>
    setTimeout(() => body.destroy(new Error(`it was silent for ${waitMs} ms`)), waitMs);
  let timer = limit();
  try {
    for await (const piece of body) {
      clearTimeout(timer);
      yield piece;
      timer = limit();
    }
  } catch (thrown) {
    throw new Error(`the bucket did not give all of the file: ${messageOf(thrown)}`);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Aborts uploads that a killed process left behind. Not every store can list them, and not every
 * access key may; a lifecycle rule of the bucket that aborts old uploads is the fallback.
 */
async function abortUploads(
  client: S3Client,
  s3: typeof import("@aws-sdk/client-s3"),
  Bucket: string,
  Key: string,
): Promise<void> {
  try {
    const { Uploads } = await client.send(
      new s3.ListMultipartUploadsCommand({ Bucket, Prefix: Key }),
    );
    for (const { UploadId, Key: found } of Uploads ?? []) {
      if (found !== Key || UploadId === undefined) continue;
      await client.send(new s3.AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
    }
  } catch (thrown) {
    // An error response is ignored, since the store is there; an unreachable store fails the
    // removal.
    if (isAnswer(thrown)) return;
    throw thrown;
  }
}

function isAnswer(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && "$metadata" in thrown &&
    typeof (thrown.$metadata as { httpStatusCode?: unknown }).httpStatusCode === "number";
}

/** Passes bytes on and counts them; remembers the error if the source fails. */
class Counted implements AsyncIterable<Uint8Array> {
  length = 0;
  failed: { thrown: unknown } | undefined;
  /** A piece has been passed on: what is thrown meanwhile is its reader's. */
  #isRead = false;

  constructor(readonly source: AsyncIterable<Uint8Array>) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of this.source) {
        this.length += piece.length;
        this.#isRead = true;
        yield piece;
        this.#isRead = false;
      }
    } catch (thrown) {
      if (!this.#isRead) this.failed = { thrown };
      throw thrown;
    }
  }
}
