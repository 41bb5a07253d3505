import Foundation
import Mustache
import ProcessKit

/// The pages behind links in mails: Mustache templates inside one frame, with every value escaped.
struct PageTemplates: Sendable {
    enum Name: String, CaseIterable, Sendable {
        /// A form for a new password.
        case choosePassword = "choose-password"
        case passwordChanged = "password-changed"
        /// The link is not valid; a form requests another mail.
        case passwordLinkVoid = "password-link-void"
        case emailVerified = "email-verified"
        case emailAlreadyVerified = "email-already-verified"
        case verificationLinkVoid = "verification-link-void"
        /// A mail was requested. The page is the same whether or not one is sent.
        case mailRequested = "mail-requested"
        /// An error that does not concern the link.
        case problem
    }

    private static let frame = "frame"
    private let templates: [String: MustacheTemplate]
    private let shopName: String

    /// Reads the templates beside the executable; `SATCHEL_PAGES` may hold replacements of the same names.
    /// - Throws: when a template is missing or cannot be parsed, which aborts startup.
    init(configuration: GatewayConfiguration) throws {
        shopName = configuration.shopName
        let standard = Bundle.module.bundleURL.appendingPathComponent("Pages")
        let own = configuration.pagesDirectory.map { URL(fileURLWithPath: $0) }
        templates = try (Name.allCases.map(\.rawValue) + [Self.frame]).reduce(into: [:]) { templates, name in
            let file = "\(name).mustache"
            let candidates = [own, standard].compactMap { $0?.appendingPathComponent(file) }
            guard let url = candidates.first(where: { FileManager.default.fileExists(atPath: $0.path) }) else {
                throw StartupProblem("The page \(file) is missing.")
            }
            do {
                templates[name] = try MustacheTemplate(string: try String(contentsOf: url, encoding: .utf8))
            } catch {
                throw StartupProblem("The page \(url.path) cannot be used: \(error)")
            }
        }
    }

    func html(_ name: Name, _ values: [String: String]) -> String {
        let values = values.merging(["shop": shopName]) { own, _ in own }
        // Only the frame inserts its content unescaped; the inner template has escaped it.
        let content = templates[name.rawValue]?.render(values) ?? ""
        return templates[Self.frame]?.render(["shop": shopName, "content": content]) ?? content
    }
}
