// Files and Config: their triggers, and their use in code. All files share one trigger, so rows are distinguished by
// the file's name.
import {
  call,
  created,
  error,
  get,
  master,
  modern,
  others,
  post,
  put,
  remove,
  result,
  stored,
  subject,
  upload,
} from '../rows.mjs';

const file = { name: '<any text>', url: '<any text>' };
/** A file, by name, in three places of an object. */
const named = (name) => {
  const one = { __type: 'File', name };
  return { photo: one, list: [one], map: { deep: one } };
};
const linked = (name, url) => ({ __type: 'File', name, url });
const heard = (fields) => ({
  ...get('/classes/Heard_', master),
  answer: { results: [{ ...stored, ...fields, ...others }] },
});

export default [
  ...subject('files', 'Cloud Code guide, File Triggers', [
    {
      name: 'beforeSaveFile refuses',
      code: `Parse.Cloud.beforeSaveFile(async ({ file, user, fileSize }) => {
          const name = file.name();
          if (name.startsWith('coded')) throw new Parse.Error(9002, 'Not this one.');
          if (name.startsWith('refused')) throw 'Not this one.';
          if (name.startsWith('renamed')) return new Parse.File('other.txt', { base64: await file.getData() });
          if (name.startsWith('elsewhere')) {
            return Parse.File.fromJSON({ __type: 'File', name: 'there.txt', url: 'https://cdn.example/there.txt' });
          }
          if (name.startsWith('marked')) {
            file.addMetadata('size', fileSize);
            file.addMetadata('by', user ? user.id : 'nobody');
            file.addTag('group', 'blue');
          }
        });`,
      ask: upload('coded.txt', 'hi'),
      answer: error(9002, 'Not this one.'),
    },
    {
      name: 'beforeSaveFile refuses with a text',
      ask: upload('refused.txt', 'hi'),
      answer: error(130, 'Not this one.'),
    },
    {
      name: 'beforeSaveFile returns another file',
      ask: upload('renamed.txt', 'content', { keep: { url: 'url' } }),
      status: 201,
      answer: { ...file, name: { '<containing>': 'other.txt' } },
      after: [{ ...get('<url>'), answer: 'content' }],
    },
    {
      name: 'beforeSaveFile returns a file that is stored',
      ask: upload('elsewhere.txt', 'hi'),
      status: 201,
      answer: { name: 'there.txt', url: 'https://cdn.example/there.txt' },
    },
    {
      name: 'metadata and tags',
      ask: upload('marked.txt', 'four', { as: 'ann', keep: { name: 'name' } }),
      status: 201,
      answer: file,
      after: [
        {
          ...get('/files/satchel/metadata/<name>'),
          answer: { metadata: { size: 4, by: '<ann>' }, tags: { group: 'blue' } },
        },
      ],
    },
    {
      name: 'afterSaveFile hears',
      code: `Parse.Cloud.afterSaveFile(({ file, fileSize, triggerName, user }) => {
          if (!file.name().includes('heard')) return;
          return new Parse.Object('Heard_').save({ name: file.name(), size: fileSize, by: user.id, triggerName }, {
            useMasterKey: true });
        });`,
      ask: upload('heard.txt', 'four', { as: 'ann', keep: { name: 'name' } }),
      status: 201,
      answer: file,
      after: [heard({ name: '<name>', size: 4, by: '<ann>', triggerName: 'afterSave' })],
    },
    {
      name: 'beforeDeleteFile refuses',
      before: [upload('kept.txt', 'hi', { keep: { name: 'name' } })],
      code: `Parse.Cloud.beforeDeleteFile(({ file }) => {
          if (file.name().endsWith('kept.txt')) throw 'You do not have permission to delete this file';
        });`,
      ask: remove('/files/<name>', master),
      answer: error(153, 'You do not have permission to delete this file'),
      source: 'Cloud Code guide, beforeDeleteFile; protocol 10',
    },
    {
      name: 'afterDeleteFile hears',
      before: [upload('gone.txt', 'hi', { keep: { name: 'name' } })],
      code: `Parse.Cloud.afterDeleteFile(({ file, fileSize, triggerName }) => {
          if (!file.name().endsWith('gone.txt')) return;
          return new Parse.Object('Heard_').save({ name: file.name(), size: fileSize, triggerName }, {
            useMasterKey: true });
        });`,
      ask: remove('/files/<name>', master),
      answer: {},
      after: [heard({ name: '<name>', size: null, triggerName: 'afterDelete' })],
    },
  ]),
  ...subject('Parse.File', 'JS guide, Files', [
    {
      name: 'is saved and read',
      ask: call(),
      answer: result([true, true, 'Hello']),
      code: modern(`const file = new Parse.File('hello.txt', [72, 101, 108, 108, 111], 'text/plain');
        await file.save({ useMasterKey: true });
        const text = Buffer.from(await file.getData(), 'base64').toString();
        return [file.name().endsWith('hello.txt'), file.url().startsWith('http'), text];`),
    },
    {
      name: 'of base64',
      ask: call(),
      answer: result('Hello'),
      code: modern(`const file = new Parse.File('hello.txt', { base64: 'SGVsbG8=' }, 'text/plain');
        await file.save({ useMasterKey: true });
        return Buffer.from(await file.getData(), 'base64').toString();`),
    },
    {
      name: 'in an object',
      ask: call(),
      answer: result({ __type: 'File', ...file }),
      code: modern(`const item = new Parse.Object('Item_');
        item.set('photo', new Parse.File('p.txt', { base64: 'SGk=' }, 'text/plain'));
        await item.save(null, { useMasterKey: true });
        return (await new Parse.Query('Item_').first()).get('photo');`),
    },
    {
      name: 'by its name alone in a class with a trigger',
      source: 'REST guide, Files: a file is associated by its name',
      code: `Parse.Cloud.beforeSave('Item_', ({ object }) => {
          const files = [object.get('photo'), object.get('list')[0], object.get('map').deep];
          object.set('urls', files.map((file) => file.url()));
          object.set('copy', object.get('photo'));
        });`,
      before: [upload('photo.txt', 'four', { keep: { file: 'name', url: 'url' } })],
      ask: post('/classes/Item_', named('<file>'), { keep: { id: 'objectId' } }),
      status: 201,
      answer: { ...created, urls: ['<url>', '<url>', '<url>'], copy: linked('<file>', '<url>') },
      after: [
        { ...put('/classes/Item_/<id>', named('<file>')), answer: { updatedAt: '<any date>', ...others } },
        { ...get('/classes/Item_/<id>'), answer: { ...stored, photo: linked('<file>', '<url>'), ...others } },
        {
          ...put('/users/<ann>', { photo: { __type: 'File', name: '<file>' } }, { as: 'ann' }),
          answer: { updatedAt: '<any date>', ...others },
        },
      ],
    },
    {
      name: 'a name that is none',
      source: 'protocol 10',
      ask: call(),
      answer: error(122, '<any text>'),
      code: modern("return new Parse.File('a/b.txt', { base64: 'SGk=' }, 'text/plain').save({ useMasterKey: true });"),
    },
  ]),
  ...subject('Parse.Config', 'JS guide, Config', [
    {
      name: 'beforeSave refuses',
      source: 'Parse Server 7 release notes: Parse.Config triggers',
      code: `Parse.Cloud.beforeSave(Parse.Config, ({ object, original }) => {
          if (object.get('limit') > 100) throw new Parse.Error(9004, 'Too much.');
        });
        Parse.Cloud.afterSave(Parse.Config, ({ object, original }) => {
          if (object.get('limit') !== 5 || (original && original.get('limit') === 5)) return;
          return new Parse.Object('Heard_').save({ limit: object.get('limit') }, { useMasterKey: true });
        });`,
      ask: put('/config', { params: { limit: 500 } }, master),
      answer: error(9004, 'Too much.'),
      after: [{ ...put('/config', { params: { limit: 5 } }, master), answer: result(true) }, heard({ limit: 5 })],
    },
    {
      name: 'is read',
      before: [put('/config', { params: { greeting: 'Hello' } }, master)],
      ask: call(),
      answer: result('Hello'),
      code: modern("return (await Parse.Config.get()).get('greeting');"),
    },
    {
      name: 'what is hidden is for the master key',
      ask: call(),
      answer: result([true, 's']),
      before: [put('/config', { params: { secret: 's' }, masterKeyOnly: { secret: true } }, master)],
      code: modern(`const open = await Parse.Config.get();
        const all = await Parse.Config.get({ useMasterKey: true });
        return [open.get('secret') === undefined, all.get('secret')];`),
    },
    {
      name: 'is saved',
      ask: call(),
      answer: result('blue'),
      code: modern(`await Parse.Config.save({ colour_: 'blue' });
        return (await Parse.Config.get()).get('colour_');`),
    },
    {
      name: "in hosted Parse's style",
      before: [put('/config', { params: { hosted: 'yes' } }, master)],
      ask: call(),
      answer: result('yes'),
      code: `Parse.Cloud.define('f_', function (request, response) {
          Parse.Config.get().then(function (config) { response.success(config.get('hosted')); }, response.error); });`,
    },
  ]),
];
