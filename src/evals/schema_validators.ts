/** The validators of JSON Schema, for the thread of graders alone. */
export { Ajv } from "ajv";
export { Ajv2020 } from "ajv/dist/2020.js";
