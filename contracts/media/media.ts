import { z } from "@hono/zod-openapi";
import { defineContract } from "../kernel/contract.ts";

/** `GET /api/v1/media/{sha256}`: media that was taken out of a stored payload. */
export const getMedia = defineContract({
  method: "get",
  path: "/api/v1/media/{sha256}",
  operationId: "getMedia",
  summary: "Download media of a stored payload",
  description:
    "Media above `MEDIA_INLINE_BYTES` stands in stored payloads as `{sha256, bytes, mime_type, url}`; `url` is this path. Any key of the account whose payload names it may read it, and, without a key, whoever holds a signed address (one hour). It goes with the last payload that names it. Types that a browser would run are sent as attachments.",
  tag: "data-management",
  scope: undefined,
  dialect: "service",
  params: z.object({
    sha256: z.string().describe("SHA-256 of the bytes, 64 lower-case hex digits."),
  }),
  query: z.object({
    expires: z.string().optional().describe(
      "Of a signed address: Unix second until which it holds.",
    ),
    signature: z.string().optional().describe("Of a signed address: what the service signed."),
  }),
  media: {
    "*/*": z.string().openapi({ format: "binary" }).describe(
      "The bytes, with the type that the payload gave as `Content-Type`.",
    ),
  },
  errors: ["media_not_found"],
});
