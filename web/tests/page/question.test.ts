import { describe, expect, test } from 'vitest';
import {
  answerOf,
  choiceText,
  fieldsOf,
  initialInputs,
  parseAnswer,
} from '../../src/page/calls/question.ts';

const schema = {
  type: 'object',
  properties: {
    seat: { type: 'string', enum: ['window', 'aisle'], title: 'Seat' },
    quiet: { type: 'boolean', default: true },
    age: { type: 'integer', minimum: 0, maximum: 120 },
    note: { type: 'string' },
  },
  required: ['seat', 'age'],
};

const fields = fieldsOf(schema) ?? [];

describe('a form for a question', () => {
  test('has a field for each property', () => {
    expect(fields.map(({ name, input, required }) => [name, input, required])).toEqual([
      ['seat', 'choice', true],
      ['quiet', 'boolean', false],
      ['age', 'integer', true],
      ['note', 'lines', false],
    ]);
  });

  test('starts with the defaults', () => {
    expect(initialInputs(fields)).toEqual({ 0: '', 1: true, 2: '', 3: '' });
  });

  test('builds a value from the inputs and omits empty ones', () => {
    expect(answerOf(fields, { 0: '1', 1: false, 2: '42', 3: '' })).toEqual({
      value: { seat: 'aisle', quiet: false, age: 42 },
    });
  });

  test.each([
    ['a missing field', { 0: '', 1: false, 2: '42', 3: '' }, 0, 'Seat is required.'],
    ['not a number', { 0: '0', 2: 'many' }, 2, 'age must be a number.'],
    ['a fraction', { 0: '0', 2: '1.5' }, 2, 'age must be a whole number.'],
    ['too little', { 0: '0', 2: '-1' }, 2, 'age must be 0 or more.'],
    ['too much', { 0: '0', 2: '121' }, 2, 'age must be 120 or less.'],
  ])('reports the problem: %s', (_, inputs, field, problem) => {
    expect(answerOf(fields, inputs)).toEqual({ field, problem });
  });

  test('asks for one value if the schema describes a single value', () => {
    const one = fieldsOf({ type: 'number' }) ?? [];
    expect(answerOf(one, { 0: '1.5' })).toEqual({ value: 1.5 });
    expect(fieldsOf(undefined)).toHaveLength(1);
  });

  test('returns the values of choices, not their labels', () => {
    const choices = fieldsOf({ enum: [1, '1', null, { a: 1 }] }) ?? [];
    expect(choices[0]?.choices?.map(choiceText)).toEqual(['1', '1', 'null', '{"a":1}']);
    expect(answerOf(choices, { 0: '3' })).toEqual({ value: { a: 1 } });
  });

  test('a property may have any name', () => {
    const hostile = fieldsOf(JSON.parse('{"properties": {"__proto__": {"type": "string"}}}')) ?? [];
    const answer = answerOf(hostile, { 0: 'x' });
    expect(JSON.stringify(answer)).toBe('{"value":{"__proto__":"x"}}');
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test.each([
    ['a list', { type: 'array', items: {} }],
    ['a nested object', { type: 'object', properties: { a: { type: 'object' } } }],
    ['a reference', { $ref: '#/$defs/x' }],
    ['no object', 'string'],
    ['no properties', { type: 'object', properties: {} }],
    [
      'too many properties',
      { properties: Object.fromEntries([...Array(41).keys()].map((n) => [n, {}])) },
    ],
  ])('does not support %s', (_, unsupported) => {
    expect(fieldsOf(unsupported)).toBeNull();
  });
});

test('raw JSON is parsed, or rejected with a hint', () => {
  expect(parseAnswer('{"a": [1]}')).toEqual({ value: { a: [1] } });
  expect(parseAnswer('yes')).toMatchObject({ problem: expect.stringContaining('"yes"') as string });
});
