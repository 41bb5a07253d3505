// The cloud code table: rows of data in files by subject, each with its snippet of main.js, requests and answers. Run
// as a program, it prints `{ suites: [{ name, settings, files, rows }], loading }` as JSON for CloudTableTests.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Far more than any row needs: only the rows of `limits` reach their limits. */
const PATIENT = { SATCHEL_CLOUD_FUNCTION_SECONDS: '25', SATCHEL_CLOUD_TRIGGER_SECONDS: '25' };

/** The suites: their different settings, the files in addition to the rows' code, and their subjects. */
const SUITES = [
  {
    name: 'today',
    settings: PATIENT,
    subjects: [
      'functions/functions',
      'functions/codes',
      'functions/hosted',
      'functions/validators',
      'triggers/triggers',
      'triggers/nested',
      'triggers/finds',
      'triggers/sessions',
      'triggers/files',
      'sdk/queries',
      'sdk/objects',
      'sdk/values',
      'sdk/users',
      'sdk/services',
      'functions/jobs',
      'modules/modules',
    ],
  },
  {
    name: 'asCaller',
    settings: { ...PATIENT, SATCHEL_CLOUD_AS_CALLER: 'true', SATCHEL_WEBHOOK_AWAIT_AFTER: 'true' },
    subjects: ['sdk/caller', 'triggers/answers'],
  },
  {
    name: 'global',
    settings: PATIENT,
    subjects: ['modules/global'],
    prelude: "import word from './word.js';\nParse.Cloud.useMasterKey();\n",
    files: { 'package.json': '{"type":"module"}', 'word.js': "export default 'found';" },
  },
  {
    name: 'limits',
    subjects: ['functions/limits'],
    settings: {
      SATCHEL_CLOUD_FUNCTION_SECONDS: '1',
      SATCHEL_CLOUD_TRIGGER_SECONDS: '1',
      SATCHEL_CLOUD_JOB_SECONDS: '1',
    },
  },
];

/** A row with unique names: appends the row's number to names that end in an underscore. */
function numbered(row, number) {
  return JSON.parse(JSON.stringify(row).replace(/(?<=[A-Za-z0-9])_(?![A-Za-z0-9_])/g, `_${number}`));
}

/** A call of this function shows that the code is loaded. */
const READY = "Parse.Cloud.define('hello', () => 'hello');\n";

/** One main.js with all rows, each in a separate scope. */
function mainOf(rows) {
  const parts = rows.filter((row) => row.code).map((row) => `// ${row.name}\n(() => {\n${row.code}\n})();\n`);
  return [...parts, READY].join('\n');
}

async function rowsOf(subjects, first) {
  const files = await Promise.all(
    subjects.map(async (subject) => {
      const { default: rows } = await import(`./${subject}.mjs`);
      return rows.map((row) => ({ subject: path.basename(subject), ...row }));
    }),
  );
  return files.flat().map((row, index) => numbered(row, first + index));
}

/** The folder of a suite's code: main.js of all rows, and the rows' files. */
function folderOf({ prelude = '', files = {} }, rows) {
  return Object.assign({ ...files, 'main.js': prelude + mainOf(rows) }, ...rows.map((row) => row.files || {}));
}

export async function table() {
  const suites = [];
  let count = 0;
  for (const suite of SUITES) {
    const rows = await rowsOf(suite.subjects, count + 1);
    count += rows.length;
    suites.push({ name: suite.name, settings: suite.settings, files: folderOf(suite, rows), rows });
  }
  const { default: loading } = await import('./modules/loading.mjs');
  return { suites, loading };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.stdout.write(JSON.stringify(await table()));
}
