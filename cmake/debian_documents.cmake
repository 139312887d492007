# CPack runs this before it packs: it adds what Debian wants of each package, which nobody else needs. These are whose it
# is and what is in it, what changed, and compressed pages of the manual.

file(READ ${CPACK_RESOURCE_FILE_LICENSE} license)
string(STRIP "${license}" license)
string(REPLACE "\n\n" "\n.\n" license "${license}")
string(REPLACE "\n" "\n " license "${license}")
string(TIMESTAMP today "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}/share)
  set(documents ${folder}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(WRITE ${documents}/copyright
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
    "\nFiles: *\nCopyright: 2026 warpmer developers\nLicense: Expat\n ${license}\n")
  file(WRITE ${documents}/changelog.Debian
    "warpmer (${version}) unstable; urgency=medium\n\n  * CHANGELOG.md in the sources says what is new.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${today}\n")
  if(CPACK_WARPMER_LICENSES)
    file(COPY ${CPACK_WARPMER_LICENSES} DESTINATION ${documents})
    set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
    file(WRITE ${folder}/lintian/overrides/${package}
      "# One package is for releases of Debian and Ubuntu that have other versions of these.\n"
      "${package}: embedded-library bzip2 *\n${package}: embedded-library zlib *\n")
  endif()
  file(GLOB pages ${folder}/man/man1/*)
  execute_process(COMMAND gzip -9 -n -f ${documents}/changelog.Debian ${pages} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
