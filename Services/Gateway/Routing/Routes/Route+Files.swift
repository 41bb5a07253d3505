/// Files, and exports and imports of operators.
extension Route {
    static let files: [Route] = [
        Route(.post, "/files/{fileName}", .files, "uploadFile", "Stores a file.") {
            try await $0.controllers.files.upload($0.request, $0.principal)
        },
        Route(.post, "/files", .files, "uploadFileWithoutName", "Answers that a file needs a name.") {
            try await $0.controllers.files.upload($0.request, $0.principal)
        },
        Route(.delete, "/files/{fileName}", .files, "deleteFile", "Removes a file.", access: .master) {
            try await $0.controllers.files.delete($0.request, $0.principal)
        },
        Route(
            .delete, "/files/{applicationId}/{fileName}", .files, "deleteFileByURL", "Removes a file by its URL.",
            access: .master
        ) {
            try await $0.controllers.files.delete($0.request, $0.principal)
        },
        Route(
            .delete, "/files", .files, "deleteFileWithoutName", "Answers that a file needs a name.", access: .master
        ) {
            try await $0.controllers.files.delete($0.request, $0.principal)
        },
        Route(
            .get, "/files/{applicationId}/{fileName}", .files, "downloadFile", "A file's content, or a range of it.",
            access: .anyone
        ) {
            try await $0.controllers.files.download($0.request)
        },
        Route(
            .get, "/files/{applicationId}/metadata/{fileName}", .files, "getFileMetadata",
            "What was stored with a file.",
            access: .anyone
        ) {
            try await $0.controllers.files.download($0.request)
        },
        Route(
            .get, "/files/{applicationId}/width/{width}/{fileName}", .files, "downloadPicture",
            "A public picture, shrunk to a width.", access: .anyone
        ) {
            try await $0.controllers.pictures.download($0.request, $0.principal)
        },
        Route(
            .get, "/files/{applicationId}/url/{fileName}", .files, "signFile",
            "A URL that opens a private file for some time.", access: .master
        ) {
            try $0.controllers.files.sign($0.request, $0["fileName"])
        },
        Route(.get, "/export/{className}", .objects, "exportClass", "All objects of a class as a file, for admins.") {
            try await $0.controllers.exports.run($0["className"], $0.request, $0.principal)
        },
        Route(.post, "/import/{className}", .objects, "importClass", "Objects of a class from a file, for admins.") {
            try await $0.controllers.imports.run($0["className"], $0.request, $0.principal)
        },
    ]
}
