import { Readable } from "node:stream";
import type { S3Client } from "@aws-sdk/client-s3";
import { createHttpsAgent } from "../../base/https_agent.ts";
import type { Secret } from "../../base/secret.ts";
import { messageOf } from "../../shared/fault.ts";
import type { ExportBucket, ExportFileName } from "../export_job.ts";
import { exportMediaType } from "../export_spec.ts";

/** Where the bucket is, and who asks. */
export interface BucketSettings {
  bucket: string;
  prefix: string;
  /** Of a store other than Amazon's, which is then asked by path, not by host name. */
  endpoint: string | undefined;
  region: string;
  accessKeyId: Secret;
  secretAccessKey: Secret;
}

/**
 * A file has at most 10,000 parts: 50 GB at first, and for what did not fit, 200 GB at the next
 * attempt. Three parts are held in memory: two on their way, one that fills.
 */
function partBytes(claim: number): number {
  return (claim === 1 ? 5 : 20) * 1024 * 1024;
}
const partsAtOnce = 2;
/** A store that hangs must not hold a job for ever. */
const requestLimits = {
  connectionTimeout: 5_000,
  requestTimeout: 120_000,
  throwOnRequestTimeout: true,
};
/** As the client has them by itself. */
const connections = { keepAlive: true, maxSockets: 50 };
/** The longest that a signature may be good for. */
const maxAddressSeconds = 7 * 24 * 60 * 60;

/** Files of exports in a bucket that speaks S3; the client is loaded when it is first needed. */
export function createExportBucket(settings: BucketSettings, now: () => Date): ExportBucket {
  const { bucket: Bucket } = settings;
  let opened: ReturnType<typeof open> | undefined;
  const library = () => opened ??= open(settings);
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
        // What ended the reading is the reason; the upload's own error only follows from it.
        if (counted.failed) throw counted.failed.thrown;
        throw new Error(`the bucket did not take the file: ${messageOf(thrown)}`);
      }
      return counted.length;
    },
    async *read(file, start, end) {
      if (end <= start) return;
      const { client, s3 } = await library();
      const { Body } = await client.send(
        new s3.GetObjectCommand({ Bucket, Key: keyOf(file), Range: `bytes=${start}-${end - 1}` }),
      );
      for await (const piece of Body as AsyncIterable<Uint8Array>) yield piece;
    },
    async remove(file, which) {
      const { client, s3 } = await library();
      for (let claim = which === "this" ? file.claim : 1; claim <= file.claim; claim++) {
        const Key = keyOf({ ...file, claim });
        await client.send(new s3.DeleteObjectCommand({ Bucket, Key }));
        await abortUploads(client, s3, Bucket, Key);
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

async function open(settings: BucketSettings) {
  const [s3, { Upload }, { getSignedUrl }] = await Promise.all([
    import("@aws-sdk/client-s3"),
    import("@aws-sdk/lib-storage"),
    import("@aws-sdk/s3-request-presigner"),
  ]);
  const client = new s3.S3Client({
    region: settings.region,
    ...(settings.endpoint === undefined
      ? {}
      : { endpoint: settings.endpoint, forcePathStyle: true }),
    credentials: {
      accessKeyId: settings.accessKeyId.reveal(),
      secretAccessKey: settings.secretAccessKey.reveal(),
    },
    requestHandler: { ...requestLimits, httpsAgent: createHttpsAgent(connections) },
    // Stores other than Amazon's don't know the checksums that the client adds by itself.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
  });
  return { s3, client, Upload, getSignedUrl };
}

/**
 * Parts of uploads that a killed process left behind. Not every store can list them, nor may every
 * key: a rule of the bucket that ends old uploads is the net below.
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
    // Said by the store itself: it is there. What can't be reached fails the removal.
    if (isAnswer(thrown)) return;
    throw thrown;
  }
}

function isAnswer(thrown: unknown): boolean {
  return typeof thrown === "object" && thrown !== null && "$metadata" in thrown &&
    typeof (thrown.$metadata as { httpStatusCode?: unknown }).httpStatusCode === "number";
}

/** Bytes on their way, counted; remembers what ended them before their end. */
class Counted implements AsyncIterable<Uint8Array> {
  length = 0;
  failed: { thrown: unknown } | undefined;

  constructor(readonly source: AsyncIterable<Uint8Array>) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of this.source) {
        this.length += piece.length;
        yield piece;
      }
    } catch (thrown) {
      this.failed = { thrown };
      throw thrown;
    }
  }
}
