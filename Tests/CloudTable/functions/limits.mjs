// Code that exceeds a time limit. The limits of this suite are one second.
import { call, created, error, find, get, hosted, master, modern, post, result, stored, subject } from '../rows.mjs';

const ended = error(141, 'The cloud code took longer than it may and was ended.');
const one = post('/classes/Item_', { n: 1 }, { keep: { id: 'objectId' } });
const never = (trigger) => `Parse.Cloud.${trigger}('Item_', () => new Promise(() => {}));`;

export default subject('limits', 'docs/guides/cloud-code.md, What happens when', [
  { name: 'a function that never answers', code: modern('return new Promise(() => {});'), ask: call(), answer: ended },
  { name: 'a function of hosted Parse that never answers', code: hosted('return 1;'), ask: call(), answer: ended },
  {
    name: 'a trigger of hosted Parse that never answers',
    code: "Parse.Cloud.beforeSave('Item_', function (request, response) {});",
    ask: post('/classes/Item_', {}),
    answer: ended,
    after: [{ ...find('Item_'), answer: { results: [] } }],
  },
  {
    name: 'beforeSave',
    code: never('beforeSave'),
    ask: post('/classes/Item_', {}),
    answer: ended,
    after: [{ ...find('Item_'), answer: { results: [] } }],
  },
  {
    name: 'beforeDelete',
    code: never('beforeDelete'),
    before: [one],
    ask: { method: 'DELETE', path: '/classes/Item_/<id>' },
    answer: ended,
    after: [{ ...get('/classes/Item_/<id>'), answer: { ...stored, n: 1 } }],
  },
  { name: 'beforeFind', code: never('beforeFind'), ask: find('Item_'), answer: ended },
  { name: 'afterFind', code: never('afterFind'), before: [one], ask: find('Item_'), answer: ended },
  {
    name: 'afterSave is not waited for',
    code: never('afterSave'),
    ask: post('/classes/Item_', {}),
    status: 201,
    answer: created,
  },
  {
    name: 'what was done before stays',
    ask: call(),
    answer: ended,
    code: modern("await new Parse.Object('Item_').save({ n: 1 }); return new Promise(() => {});"),
    after: [{ ...find('Item_'), answer: { results: [{ ...stored, n: 1 }] } }],
  },
  {
    name: 'a job',
    source: 'docs/guides/cloud-code.md, Jobs',
    code: "Parse.Cloud.job('job_', () => new Promise(() => {}));",
    ask: post('/jobs/job_', {}, { ...master, keep: { run: 'header:X-Parse-Job-Status-Id' } }),
    answer: {},
    after: [
      { ...get('/classes/_JobStatus/<run>', master), answer: { jobName: 'job_', status: 'failed', '<others>': true } },
    ],
  },
  { name: 'another call goes on meanwhile', code: modern("return 'there';"), ask: call(), answer: result('there') },
]);
