import S3rver from "s3rver";
import { testCertificate, testCertificateKey } from "./service_certificate.ts";

/** A bucket named `exports` on an S3 server, and the environment that makes a service use it. */
export interface TestBucket extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** Returns the keys of all stored objects. */
  keys(): Promise<string[]>;
  /** Requests so far, such as `PUT /exports/team/…?partNumber=2&uploadId=…`. */
  readonly requests: readonly string[];
}

export const bucketSecret = "c4nary-bucket-secret";

/** Starts the bucket's server; with `tls` on HTTPS, with the test certificate. */
export async function startBucket(
  { tls = false }: { readonly tls?: boolean } = {},
): Promise<TestBucket> {
  const directory = await Deno.makeTempDir({ prefix: "bucket-" });
  const server = new S3rver({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    directory,
    ...(tls ? { cert: testCertificate, key: testCertificateKey } : {}),
    configureBuckets: [{ name: "exports" }],
  });
  const requests: string[] = [];
  server.middleware.unshift((context: { method: string; url: string }, next: () => unknown) => {
    requests.push(`${context.method} ${context.url}`);
    return next();
  });
  const { port } = await server.run();
  const endpoint = `${tls ? "https" : "http"}://127.0.0.1:${port}`;
  return {
    env: {
      EXPORT_BUCKET_URL: "s3://exports/team/daily",
      S3_ENDPOINT: endpoint,
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "S3RVER",
      AWS_SECRET_ACCESS_KEY: bucketSecret,
    },
    requests,
    async keys() {
      using client = Deno.createHttpClient({ caCerts: [testCertificate] });
      const list = await (await fetch(`${endpoint}/exports?list-type=2`, { client })).text();
      return [...list.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key!);
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}
