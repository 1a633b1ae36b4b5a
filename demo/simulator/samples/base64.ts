import { Buffer } from "node:buffer";
import { type Bytes } from "./bytes.ts";

export function base64(bytes: Bytes): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}
