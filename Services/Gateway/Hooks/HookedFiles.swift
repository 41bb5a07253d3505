import Foundation
import HTTPTypes
import Messages
import ParseProtocol

/// Cloud code triggers of files. Webhooks have no such triggers.
struct HookedFiles: Sendable {
    private let scope: HookScope
    private let table: HookTable
    private let principal: Principal
    private let subject: [String: JSON]

    /// Bytes of a file's content that the code gets; for a larger file it gets no content.
    private static let contentBytesMax = 8 << 20
    private static let triggers: [HookTable.Trigger] = [
        .beforeSaveFile, .afterSaveFile, .beforeDeleteFile, .afterDeleteFile,
    ]

    /// Nil when the code has no trigger of files.
    init?(_ scope: HookScope?, _ principal: Principal) async throws(ParseError) {
        guard let scope, let table = try await scope.table(with: Self.triggers, Hook.fileClass) else { return nil }
        self.scope = scope
        self.table = table
        self.principal = principal
        subject = try await scope.subject(principal)
    }

    /// The file as the code wants it stored: `name`, `metadata` and `tags`, another content in `base64` with its
    /// `contentType`, or the `url` of a file that is already stored. Nil without such a trigger.
    /// - Throws: the code's refusal.
    func beforeSave(_ upload: FileUpload) async throws(ParseError) -> JSON? {
        guard let target = table.target(.beforeSaveFile, Hook.fileClass) else { return nil }
        var file = Self.forHook(upload.name, url: nil, upload)
        if upload.content.count <= Self.contentBytesMax {
            file["base64"] = .string(Data(upload.content).base64EncodedString())
        }
        let answer = try await scope.call(target, body("beforeSaveFile", file, of: upload), principal)
        return answer.value.isNull ? nil : answer.value
    }

    /// - Parameter upload: nil for a file that was already stored.
    /// - Throws: the code's refusal, when the response waits for it; the file remains.
    func afterSave(_ name: String, url: String, _ upload: FileUpload?) async throws(ParseError) {
        guard let target = table.target(.afterSaveFile, Hook.fileClass) else { return }
        let body = body("afterSaveFile", Self.forHook(name, url: url, upload), of: upload)
        try await scope.callAfter(target, principal) { _ in body }
    }

    /// - Throws: the code's refusal.
    func beforeDelete(_ name: String, url: String) async throws(ParseError) {
        guard let target = table.target(.beforeDeleteFile, Hook.fileClass) else { return }
        let body = body("beforeDeleteFile", Self.forHook(name, url: url, nil), of: nil)
        _ = try await scope.call(target, body, principal)
    }

    /// - Throws: the code's refusal, when the response waits for it.
    func afterDelete(_ name: String, url: String) async throws(ParseError) {
        guard let target = table.target(.afterDeleteFile, Hook.fileClass) else { return }
        let body = body("afterDeleteFile", Self.forHook(name, url: url, nil), of: nil)
        try await scope.callAfter(target, principal) { _ in body }
    }

    private func body(_ trigger: String, _ file: JSON, of upload: FileUpload?) -> [String: JSON] {
        var body = subject
        body["triggerName"] = .string(trigger)
        body["object"] = file
        if let upload { body["fileSize"] = .int(Int64(upload.content.count)) }
        if let length = scope.request.headers[.contentLength] { body["contentLength"] = .string(length) }
        return body
    }

    private static func forHook(_ name: String, url: String?, _ upload: FileUpload?) -> JSON {
        var file: JSON = ["className": .string(Hook.fileClass), "name": .string(name)]
        if let url { file["url"] = .string(url) }
        guard let upload else { return file }
        file["contentType"] = .string(upload.contentType)
        let data = try? JSON(parsing: upload.metadata)
        for part in ["metadata", "tags"] { file[part] = data?[part] ?? [:] }
        return file
    }
}
