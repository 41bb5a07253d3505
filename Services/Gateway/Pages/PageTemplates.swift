import Foundation
import Mustache
import ProcessKit

/// The pages that links in mails open: Mustache templates inside one frame, every value escaped.
struct PageTemplates: Sendable {
    enum Name: String, CaseIterable, Sendable {
        /// A form for a new password.
        case choosePassword = "choose-password"
        case passwordChanged = "password-changed"
        /// The link is void; a form asks for another mail.
        case passwordLinkVoid = "password-link-void"
        case emailVerified = "email-verified"
        case emailAlreadyVerified = "email-already-verified"
        case verificationLinkVoid = "verification-link-void"
        /// A mail was asked for; the same whether or not there is one.
        case mailRequested = "mail-requested"
        /// Something that has nothing to do with the link.
        case problem
    }

    private static let frame = "frame"
    private let templates: [String: MustacheTemplate]
    private let shopName: String

    /// Reads the templates beside the executable; `SATCHEL_PAGES` may hold others of the same names.
    /// - Throws: when one is missing or cannot be parsed, which ends the gateway's start.
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
        // Only the frame takes its content as it is, and that was escaped here.
        let content = templates[name.rawValue]?.render(values) ?? ""
        return templates[Self.frame]?.render(["shop": shopName, "content": content]) ?? content
    }
}
