import assert from 'node:assert/strict';
import test from 'node:test';
import type { ToolResult } from '../../src/gateway/core.ts';
import { fitToClient } from '../../src/gateway/fit.ts';

const result: ToolResult = {
  content: [{ type: 'text', text: 'M a.txt\n' }],
  structuredContent: { exit_code: 0 },
  isError: false,
};

for (const client of ['claude-code/2.1.332', 'codex-mcp-client/0.171.0'])
  void test(`${client} would show its model the facts instead of the output: it gets them beside`, () => {
    assert.deepEqual(fitToClient(result, client), {
      content: result.content,
      isError: false,
      _meta: { 'wraptool/facts': { exit_code: 0 } },
    });
  });

for (const client of ['gemini-cli-mcp-client/0.0.1', 'claude-code-router/1', 'unknown', ''])
  void test(`the client '${client}' gets text and structured content`, () => {
    assert.deepEqual(fitToClient(result, client), result);
  });
