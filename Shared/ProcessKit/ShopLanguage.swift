/// `SATCHEL_LANGUAGE`: the language of mails and of the pages behind their links.
public enum ShopLanguage: String, CaseIterable, Sendable {
    case en, de

    /// - Throws: for another text, with a text that names the setting.
    public init(_ settings: Settings) throws(StartupProblem) {
        self = try settings.choice("satchel.language", default: ShopLanguage.en)
    }

    /// The folder of its templates, below that of the English ones.
    public var folder: String { self == .en ? "" : "/\(rawValue)" }
}
