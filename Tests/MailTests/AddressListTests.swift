import MailService
import Testing

/// Address lists as code writes them: no recipient is lost, and no name becomes a recipient.
@Suite struct AddressListTests {
    /// A text, and its addresses in header form; nil for an invalid one.
    static let lists: [(text: String, headers: [String?])] = [
        ("ann@x.example", ["<ann@x.example>"]),
        (" <ann@x.example> ", ["<ann@x.example>"]),
        ("a@x.example, b@x.example,c@x.example", ["<a@x.example>", "<b@x.example>", "<c@x.example>"]),
        ("a@x.example,, b@x.example,", ["<a@x.example>", "<b@x.example>"]),
        ("Ann Long <ann@x.example>", ["Ann Long <ann@x.example>"]),
        ("Ann<ann@x.example>", ["Ann <ann@x.example>"]),
        (#""Long, Ann" <a@x.example>, b@x.example"#, [#""Long, Ann" <a@x.example>"#, "<b@x.example>"]),
        (#""A \"B\" \\" <a@x.example>"#, [#""A \"B\" \\" <a@x.example>"#]),
        (#""<x@evil.example>," <a@x.example>"#, [#""<x@evil.example>," <a@x.example>"#]),
        ("Änn <ann@x.example>", ["=?UTF-8?B?w4Rubg==?= <ann@x.example>"]),
        ("", []), (" , ,", []), ("ann", [nil]), ("a@x.example; b@x.example", [nil]), ("<a@x.example", [nil]),
        ("Ann <>", [nil]), ("a@x.example, nobody, b@x.example", ["<a@x.example>", nil, "<b@x.example>"]),
        // A quotation mark is missing; the recipients that it hides would get no mail.
        (#"O"Neil <a@x.example>, Ben "B" <b@x.example>"#, [nil]),
        (#""Ann <a@x.example>, Ben <b@x.example>"#, [nil]),
        (#""A" x <a@x.example>"#, [nil]), (#""A\" <a@x.example>"#, [nil]),
        ("<a@x.example> <b@x.example>", [nil]), ("<a@x.example, b@x.example>", [nil]),
        ("a@x.example\r\nBcc: b@x.example", [nil]), ("<a@x.example\r\nBcc: b@x.example>", [nil]),
        ("Ann\r\nBcc: b@x.example <a@x.example>", [#""Ann  Bcc: b@x.example" <a@x.example>"#]),
    ]

    @Test(arguments: lists) func eachAddressIsFoundOrMissed(text: String, headers: [String?]) {
        #expect(AddressList.addresses(in: text).map { $0?.header } == headers)
    }
}
