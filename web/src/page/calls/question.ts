/**
 * The form for a question that a tool asks, built from a JSON Schema.
 *
 * Forms support strings, numbers, booleans and enumerations. Other schemas are answered in raw
 * JSON.
 */

import { parseExact, stringifyExact } from '../../client/index.ts';
import { texts } from '../language/language.svelte.ts';

/** A field of the form. */
export interface Field {
  /** Name of the property; null if the schema describes a single value instead of an object. */
  name: string | null;
  label: string;
  help?: string;
  input: 'text' | 'lines' | 'number' | 'integer' | 'boolean' | 'choice';
  choices?: unknown[];
  required: boolean;
  initial?: unknown;
  minimum?: number;
  maximum?: number;
}

/** Raw inputs of the form, by index of the field. */
export type FormInputs = Record<number, string | boolean>;

/** The value of a form, or the index of an invalid field and the problem. */
export type Answer = { value: unknown } | { field: number; problem: string };

const maxFields = 40;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Return the fields for `schema`; null if the form does not support the schema. */
export function fieldsOf(schema: unknown): Field[] | null {
  if (schema === undefined) {
    return [{ name: null, label: texts().question.answer, input: 'lines', required: true }];
  }
  if (!isRecord(schema)) return null;
  if (!isRecord(schema.properties)) {
    const field = fieldOf(null, schema, true);
    return field === null ? null : [field];
  }
  const names = Object.keys(schema.properties);
  if (names.length === 0 || names.length > maxFields) return null;
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const fields: Field[] = [];
  for (const name of names) {
    const field = fieldOf(name, schema.properties[name], required.includes(name));
    if (field === null) return null;
    fields.push(field);
  }
  return fields;
}

function fieldOf(name: string | null, schema: unknown, required: boolean): Field | null {
  if (!isRecord(schema)) return null;
  const input = inputOf(schema);
  if (input === null) return null;
  const title = typeof schema.title === 'string' ? schema.title : (name ?? texts().question.answer);
  const field: Field = { name, label: title, input, required };
  if (typeof schema.description === 'string') field.help = schema.description;
  if (input === 'choice') field.choices = Array.isArray(schema.enum) ? schema.enum : [schema.const];
  if (schema.default !== undefined) field.initial = schema.default;
  if (typeof schema.minimum === 'number') field.minimum = schema.minimum;
  if (typeof schema.maximum === 'number') field.maximum = schema.maximum;
  return field;
}

function inputOf(schema: Record<string, unknown>): Field['input'] | null {
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return 'choice';
  if (schema.const !== undefined) return 'choice';
  switch (schema.type) {
    case 'string':
      return typeof schema.maxLength === 'number' && schema.maxLength <= 120 ? 'text' : 'lines';
    case 'number':
      return 'number';
    case 'integer':
      return 'integer';
    case 'boolean':
      return 'boolean';
    default:
      return null;
  }
}

/** Return the initial inputs of the fields, from the defaults of the schema. */
export function initialInputs(fields: Field[]): FormInputs {
  const inputs: FormInputs = {};
  fields.forEach((field, index) => {
    if (field.input === 'boolean') inputs[index] = field.initial === true;
    else if (field.input === 'choice') {
      const found = field.choices?.findIndex((choice) => sameJson(choice, field.initial)) ?? -1;
      inputs[index] = found === -1 ? '' : String(found);
    } else {
      const initial = field.initial;
      inputs[index] =
        typeof initial === 'string' || typeof initial === 'number' ? String(initial) : '';
    }
  });
  return inputs;
}

/** Return the value of the inputs, or the first problem. */
export function answerOf(fields: Field[], inputs: FormInputs): Answer {
  const value: Record<string, unknown> = {};
  for (const [index, field] of fields.entries()) {
    const read = readField(field, inputs[index] ?? '');
    if ('problem' in read) return { field: index, problem: read.problem };
    if (field.name === null) return { value: read.value };
    if (read.value !== undefined) {
      // Not an assignment, because a property may be called `__proto__`.
      Object.defineProperty(value, field.name, {
        value: read.value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
  }
  return { value };
}

function readField(
  field: Field,
  input: string | boolean,
): { value: unknown } | { problem: string } {
  if (field.input === 'boolean') return { value: input === true };
  const text = String(input);
  if (text.trim() === '') {
    if (!field.required) return { value: undefined };
    // An empty string is valid JSON, but an empty required field is probably a mistake.
    return { problem: texts().question.isRequired(field.label) };
  }
  if (field.input === 'choice') return { value: field.choices?.[Number(text)] };
  if (field.input !== 'number' && field.input !== 'integer') return { value: text };
  const number = Number(text);
  if (!Number.isFinite(number)) return { problem: texts().question.mustBeNumber(field.label) };
  if (field.input === 'integer' && !Number.isInteger(number)) {
    return { problem: texts().question.mustBeWhole(field.label) };
  }
  if (field.minimum !== undefined && number < field.minimum) {
    return { problem: texts().question.mustBeAtLeast(field.label, field.minimum) };
  }
  if (field.maximum !== undefined && number > field.maximum) {
    return { problem: texts().question.mustBeAtMost(field.label, field.maximum) };
  }
  return { value: number };
}

/** Return the label of a choice: a string itself, any other value as JSON. */
export function choiceText(choice: unknown): string {
  return typeof choice === 'string' ? choice : (stringifyExact(choice) ?? '');
}

function sameJson(one: unknown, other: unknown): boolean {
  return stringifyExact(one) === stringifyExact(other);
}

/** Parse raw JSON that the user entered; return the value or the problem. */
export function parseAnswer(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: parseExact(text) };
  } catch {
    return { problem: texts().question.notJson };
  }
}
