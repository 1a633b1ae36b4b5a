import type { PriceEntry } from "./price_row.ts";
import { genaiPackage, litellmTable } from "../sources/price_sources.ts";

const vendorB = {
  label: "vendor-b",
  service_tiers: { batch: "0.5", flex: "0.5", priority: "2", fast: "2" },
};

/** Bundled prices of models that make or hear pictures and sound, and of embedding models. */
export const mediaPrices: readonly PriceEntry[] = [
  {
    ...vendorB,
    models: ["gpt-image-1"],
    input: "5",
    image_input: "10",
    // Cached text is 1.25 and cached images 2.5; usage doesn't tell them apart: the dearer counts.
    cache_read: "2.5",
    output: "40",
    image_output: "40",
    ...genaiPackage,
  },
  {
    ...vendorB,
    models: ["gpt-image-1-mini"],
    input: "2",
    image_input: "2.5",
    cache_read: "0.25",
    output: "8",
    image_output: "8",
    ...genaiPackage,
  },
  {
    ...vendorB,
    models: ["dall-e-3"],
    per_image: {
      "standard/1024x1024": "0.04",
      "standard/1024x1792": "0.08",
      "standard/1792x1024": "0.08",
      "hd/1024x1024": "0.08",
      "hd/1024x1792": "0.12",
      "hd/1792x1024": "0.12",
      // Where nobody says the quality, which is then standard.
      "1024x1024": "0.04",
      "1024x1792": "0.08",
      "1792x1024": "0.08",
      "hd": "0.08",
      "standard": "0.04",
    },
    ...litellmTable,
  },
  {
    ...vendorB,
    models: ["dall-e-2"],
    per_image: { "256x256": "0.016", "512x512": "0.018", "1024x1024": "0.02" },
    ...litellmTable,
  },
  { ...vendorB, models: ["tts-1"], per_million_characters: "15", ...litellmTable },
  { ...vendorB, models: ["tts-1-hd"], per_million_characters: "30", ...litellmTable },
  {
    ...vendorB,
    models: ["gpt-4o-transcribe", "gpt-4o-transcribe-diarize"],
    input: "2.5",
    audio_input: "6",
    output: "10",
    ...genaiPackage,
  },
  {
    ...vendorB,
    models: ["gpt-4o-mini-transcribe"],
    input: "1.25",
    audio_input: "3",
    output: "5",
    ...genaiPackage,
  },
  // 0.27 and 0.36 an hour.
  { ...vendorB, models: ["gpt-transcribe"], per_minute: "0.0045", ...genaiPackage },
  { ...vendorB, models: ["whisper-1"], per_minute: "0.006", ...genaiPackage },
  { ...vendorB, models: ["text-embedding-3-small"], input: "0.02", ...genaiPackage },
  { ...vendorB, models: ["text-embedding-3-large"], input: "0.13", ...genaiPackage },
  { ...vendorB, models: ["text-embedding-ada-002"], input: "0.10", ...genaiPackage },
  { label: "vendor-d", models: ["gemini-embedding-001"], input: "0.15", ...genaiPackage },
  {
    label: "vendor-d",
    models: ["gemini-embedding-2"],
    input: "0.2",
    audio_input: "6.5",
    image_input: "0.45",
    ...genaiPackage,
  },
];
