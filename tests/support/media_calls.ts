import assert from "@std/assert";
import type { TestService } from "./service.ts";

/** The body of an answer with images. */
export interface ImageAnswer {
  data?: {
    b64_json?: string;
    url?: string;
    mime_type?: string;
    width?: number;
    height?: number;
    revised_prompt?: string;
    index: number;
  }[];
  filtered_count?: number;
  cost_usd?: string;
  error?: { message: string; type: string; code: string; param: string | null };
}

export interface Drawn {
  status: number;
  headers: Headers;
  transaction: string | null;
  body: ImageAnswer;
}

/** Requests images as JSON. */
export async function generateImage(
  service: Pick<TestService, "post">,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Drawn> {
  const response = await service.post("/imagen/v1/generate", body, headers);
  return {
    status: response.status,
    headers: response.headers,
    transaction: response.headers.get("x-transaction-id"),
    body: await response.json() as ImageAnswer,
  };
}

/** Asserts that the answer has status 200 and returns its images. */
export function imagesOf({ status, body }: Drawn): NonNullable<ImageAnswer["data"]> {
  assert.equal(status, 200, JSON.stringify(body).slice(0, 500));
  return body.data!;
}
