// The table of cloud code: rows of data in files by subject, each with its snippet of main.js, requests and answers.
// Run as a program, it prints `{ suites: [{ name, settings, files, rows }], loading }` as JSON for CloudTableTests.
import { pathToFileURL } from 'node:url';

/** Far more than any row needs: only the rows of `limits` wait for their end. */
const PATIENT = { SATCHEL_CLOUD_FUNCTION_SECONDS: '25', SATCHEL_CLOUD_TRIGGER_SECONDS: '25' };

/** The suites: the settings that they differ in, what their folders have beside the rows' code, and their subjects. */
const SUITES = [
  {
    name: 'today',
    settings: PATIENT,
    subjects: [
      'functions',
      'codes',
      'hosted',
      'validators',
      'triggers',
      'finds',
      'sessions',
      'files',
      'queries',
      'objects',
      'values',
      'users',
      'services',
      'jobs',
      'modules',
    ],
  },
  { name: 'asCaller', settings: { ...PATIENT, SATCHEL_CLOUD_AS_CALLER: 'true' }, subjects: ['caller'] },
  {
    name: 'global',
    settings: PATIENT,
    subjects: ['global'],
    prelude: "import word from './word.js';\nParse.Cloud.useMasterKey();\n",
    files: { 'package.json': '{"type":"module"}', 'word.js': "export default 'found';" },
  },
  {
    name: 'limits',
    subjects: ['limits'],
    settings: {
      SATCHEL_CLOUD_FUNCTION_SECONDS: '1',
      SATCHEL_CLOUD_TRIGGER_SECONDS: '1',
      SATCHEL_CLOUD_JOB_SECONDS: '1',
    },
  },
];

/** A row with names of its own: what ends in an underscore ends in the row's number too. */
function numbered(row, number) {
  return JSON.parse(JSON.stringify(row).replace(/(?<=[A-Za-z0-9])_(?![A-Za-z0-9_])/g, `_${number}`));
}

/** Who calls this knows that the code is loaded. */
const READY = "Parse.Cloud.define('hello', () => 'hello');\n";

/** One main.js of all rows, each in a scope of its own. */
function mainOf(rows) {
  const parts = rows.filter((row) => row.code).map((row) => `// ${row.name}\n(() => {\n${row.code}\n})();\n`);
  return [...parts, READY].join('\n');
}

async function rowsOf(subjects, first) {
  const files = await Promise.all(
    subjects.map(async (subject) => {
      const { default: rows } = await import(`./${subject}.mjs`);
      return rows.map((row) => ({ subject, ...row }));
    }),
  );
  return files.flat().map((row, index) => numbered(row, first + index));
}

/** The folder of a suite's code: main.js of all rows, and the files that they bring. */
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
  const { default: loading } = await import('./loading.mjs');
  return { suites, loading };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.stdout.write(JSON.stringify(await table()));
}
